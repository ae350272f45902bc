"""The dialects of Java that Kafka Connect configs are written in.

regex: java.util.regex. dateformat: java.text.SimpleDateFormat. numbers: how Java prints, reads and
narrows numbers. properties: java.util.Properties. Only the standard library is needed.
"""
