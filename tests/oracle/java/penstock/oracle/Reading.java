package penstock.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;

/** Schemas and values from the JSON that Rendering writes. */
final class Reading {
    private Reading() {
    }

    static Schema schema(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        Schema.Type type = Schema.Type.valueOf(node.get("type").textValue());
        SchemaBuilder builder;
        switch (type) {
            case ARRAY:
                builder = SchemaBuilder.array(schema(node.get("valueSchema")));
                break;
            case MAP:
                builder = SchemaBuilder.map(schema(node.get("keySchema")), schema(node.get("valueSchema")));
                break;
            case STRUCT:
                builder = SchemaBuilder.struct();
                for (JsonNode field : node.get("fields")) {
                    builder.field(field.get("name").textValue(), schema(field.get("schema")));
                }
                break;
            default:
                builder = SchemaBuilder.type(type);
                break;
        }
        if (node.get("optional").booleanValue()) {
            builder.optional();
        }
        if (node.hasNonNull("name")) {
            builder.name(node.get("name").textValue());
        }
        if (node.hasNonNull("version")) {
            builder.version(node.get("version").intValue());
        }
        if (node.hasNonNull("doc")) {
            builder.doc(node.get("doc").textValue());
        }
        if (node.hasNonNull("parameters")) {
            Iterator<Map.Entry<String, JsonNode>> parameters = node.get("parameters").fields();
            while (parameters.hasNext()) {
                Map.Entry<String, JsonNode> parameter = parameters.next();
                builder.parameter(parameter.getKey(), parameter.getValue().textValue());
            }
        }
        if (node.hasNonNull("default")) {
            builder.defaultValue(value(builder, node.get("default")));
        }
        return builder.build();
    }

    static Object value(Schema schema, JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        } else if (node.isTextual()) {
            return node.textValue();
        } else if (node.isBoolean()) {
            return node.booleanValue();
        } else if (node.isNumber()) {
            return number(schema, node);
        } else if (node.isArray()) {
            List<Object> items = new ArrayList<>();
            for (JsonNode item : node) {
                items.add(value(inner(schema, Schema.Type.ARRAY), item));
            }
            return items;
        }
        String kind = node.fieldNames().next();
        JsonNode inner = node.get(kind);
        switch (kind) {
            case "float32":
                return Float.valueOf((float) Double.parseDouble(inner.textValue()));
            case "float64":
                return Double.valueOf(inner.textValue());
            case "bytes":
                return Base64.getDecoder().decode(inner.textValue());
            case "decimal":
                return new BigDecimal(inner.textValue());
            case "epochMillis":
                return new Date(inner.longValue());
            case "map":
                boolean inMap = schema != null && schema.type() == Schema.Type.MAP;
                Map<Object, Object> map = new LinkedHashMap<>();
                for (JsonNode pair : inner) {
                    map.put(
                        value(inMap ? schema.keySchema() : null, pair.get(0)),
                        value(inner(schema, Schema.Type.MAP), pair.get(1)));
                }
                return map;
            case "struct":
                Struct struct = new Struct(schema);
                for (Field field : schema.fields()) {
                    struct.put(field, value(field.schema(), inner.get(field.name())));
                }
                return struct;
            default:
                throw new IllegalArgumentException("Unknown kind of value: " + kind);
        }
    }

    /** The schema of what is inside; null for a value that is not what its schema says. */
    private static Schema inner(Schema schema, Schema.Type type) {
        return schema != null && schema.type() == type ? schema.valueSchema() : null;
    }

    private static Object number(Schema schema, JsonNode node) {
        Schema.Type type = schema == null ? Schema.Type.INT64 : schema.type();
        switch (type) {
            case INT8:
                return (byte) node.intValue();
            case INT16:
                return (short) node.intValue();
            case INT32:
                return node.intValue();
            default:
                return node.longValue();
        }
    }
}
