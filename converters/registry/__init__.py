"""What the Avro, Protobuf and JSON Schema converters share: the registry and its wire format.

config      the keys, named as the Confluent converters name them
settings    how a format says its own keys
client      the registry, asked once for each schema, its failures sorted into ours
tls         certificates and keys for it, from PEM, PKCS12 or JKS
subjects    under which name a schema is registered
framing     where a record says which schema it has: before the payload or in a header
converter   the two directions, with readers and writers kept per schema
"""
