package penstock.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

public class ReplaySourceTask extends SourceTask {
    private Map<String, String> config;
    private int polls;

    @Override
    public void start(Map<String, String> config) {
        this.config = config;
    }

    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        Path file = Path.of(config.get(ReplaySourceConnector.FILE));
        try {
            polls++;
            if (polls == 1) {
                return records(Files.readString(file, StandardCharsets.UTF_8));
            }
            if (polls == 2) {
                // The worker asks again when it has done with what it was given.
                Files.createFile(Path.of(file + ".done"));
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        Thread.sleep(100);
        return null;
    }

    private List<SourceRecord> records(String text) throws IOException {
        ObjectMapper mapper = new ObjectMapper();
        List<SourceRecord> records = new ArrayList<>();
        for (String line : text.split("\n")) {
            JsonNode node = mapper.readTree(line);
            Schema keySchema = Reading.schema(node.get("keySchema"));
            Schema valueSchema = Reading.schema(node.get("valueSchema"));
            ConnectHeaders headers = new ConnectHeaders();
            for (JsonNode header : node.get("headers")) {
                Schema schema = Reading.schema(header.get("schema"));
                headers.add(
                    header.get("key").textValue(), Reading.value(schema, header.get("value")), schema);
            }
            records.add(new SourceRecord(
                Map.of("file", "f"), Map.of("n", (long) records.size()),
                config.get(ReplaySourceConnector.TOPIC), null,
                keySchema, Reading.value(keySchema, node.get("key")),
                valueSchema, Reading.value(valueSchema, node.get("value")),
                node.get("timestamp").longValue(), headers));
        }
        return records;
    }

    @Override
    public void stop() {
    }

    @Override
    public String version() {
        return "1";
    }
}
