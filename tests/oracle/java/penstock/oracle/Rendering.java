package penstock.oracle;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;

/** A record as JSON in which no type can be mistaken for another. The format is told in echo.py. */
final class Rendering {
    private Rendering() {
    }

    static String of(SinkRecord record) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("topic", record.topic());
        line.put("partition", record.kafkaPartition());
        line.put("offset", record.kafkaOffset());
        line.put("timestamp", record.timestamp());
        line.put("timestampType", String.valueOf(record.timestampType()));
        line.put("keySchema", schema(record.keySchema()));
        line.put("key", value(record.key()));
        line.put("valueSchema", schema(record.valueSchema()));
        line.put("value", value(record.value()));
        List<Object> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("key", header.key());
            entry.put("schema", schema(header.schema()));
            entry.put("value", value(header.value()));
            headers.add(entry);
        }
        line.put("headers", headers);
        return json(line);
    }

    private static Object schema(Schema schema) {
        if (schema == null) {
            return null;
        }
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("type", schema.type().name());
        map.put("optional", schema.isOptional());
        map.put("name", schema.name());
        map.put("version", schema.version());
        map.put("doc", schema.doc());
        map.put("parameters", schema.parameters());
        map.put("default", value(schema.defaultValue()));
        switch (schema.type()) {
            case STRUCT:
                List<Object> fields = new ArrayList<>();
                for (Field field : schema.fields()) {
                    Map<String, Object> entry = new LinkedHashMap<>();
                    entry.put("name", field.name());
                    entry.put("schema", schema(field.schema()));
                    fields.add(entry);
                }
                map.put("fields", fields);
                break;
            case MAP:
                map.put("keySchema", schema(schema.keySchema()));
                map.put("valueSchema", schema(schema.valueSchema()));
                break;
            case ARRAY:
                map.put("valueSchema", schema(schema.valueSchema()));
                break;
            default:
                break;
        }
        return map;
    }

    private static Object value(Object value) {
        if (value instanceof Float) {
            return Map.of("float32", Double.toString(((Float) value).doubleValue()));
        } else if (value instanceof Double) {
            return Map.of("float64", value.toString());
        } else if (value instanceof byte[]) {
            return Map.of("bytes", Base64.getEncoder().encodeToString((byte[]) value));
        } else if (value instanceof ByteBuffer) {
            ByteBuffer view = ((ByteBuffer) value).duplicate();
            byte[] bytes = new byte[view.remaining()];
            view.get(bytes);
            return Map.of("bytes", Base64.getEncoder().encodeToString(bytes));
        } else if (value instanceof BigDecimal) {
            return Map.of("decimal", value.toString());
        } else if (value instanceof Date) {
            return Map.of("epochMillis", ((Date) value).getTime());
        } else if (value instanceof Struct) {
            Struct struct = (Struct) value;
            Map<String, Object> fields = new LinkedHashMap<>();
            for (Field field : struct.schema().fields()) {
                fields.put(field.name(), value(struct.getWithoutDefault(field.name())));
            }
            return Map.of("struct", fields);
        } else if (value instanceof Map) {
            // A map has no order of its own: the entries are sorted by their keys' JSON.
            Map<String, Object> sorted = new TreeMap<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                List<Object> pair = new ArrayList<>();
                pair.add(value(entry.getKey()));
                pair.add(value(entry.getValue()));
                sorted.put(json(pair.get(0)), pair);
            }
            return Collections.singletonMap("map", new ArrayList<>(sorted.values()));
        } else if (value instanceof List) {
            List<Object> items = new ArrayList<>();
            for (Object item : (List<?>) value) {
                items.add(value(item));
            }
            return items;
        } else if (value == null || value instanceof String || value instanceof Boolean
            || value instanceof Number) {
            return value;
        }
        return Map.of("java", value.getClass().getName() + ": " + value);
    }

    private static String json(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map) {
            String separator = "{";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(separator);
                quote(entry.getKey().toString(), out);
                out.append(": ");
                write(entry.getValue(), out);
                separator = ", ";
            }
            out.append(separator.equals("{") ? "{}" : "}");
        } else if (value instanceof List) {
            String separator = "[";
            for (Object item : (List<?>) value) {
                out.append(separator);
                write(item, out);
                separator = ", ";
            }
            out.append(separator.equals("[") ? "[]" : "]");
        } else if (value instanceof String) {
            quote((String) value, out);
        } else {
            out.append(value);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20 || Character.isSurrogate(c)) {
                // Escaped, a lone surrogate survives the way to the reader.
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
