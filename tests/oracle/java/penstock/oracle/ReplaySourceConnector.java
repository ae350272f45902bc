package penstock.oracle;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.SourceConnector;

/** Emits the records that its file describes, one a line, in the format that the echo sink writes. */
public class ReplaySourceConnector extends SourceConnector {
    static final String FILE = "file";
    static final String TOPIC = "topic";

    private Map<String, String> config;

    @Override
    public void start(Map<String, String> config) {
        this.config = config;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ReplaySourceTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(config);
    }

    @Override
    public void stop() {
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef()
            .define(FILE, ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "The file to read.")
            .define(TOPIC, ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "The topic to write to.");
    }

    @Override
    public String version() {
        return "1";
    }
}
