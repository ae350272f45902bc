package penstock.oracle;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

public class EchoSinkTask extends SinkTask {
    private OutputStream file;

    @Override
    public void start(Map<String, String> config) {
        try {
            file = new FileOutputStream(config.get(EchoSinkConnector.FILE), true);
        } catch (IOException e) {
            throw new ConnectException("Cannot open " + config.get(EchoSinkConnector.FILE), e);
        }
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        try {
            for (SinkRecord record : records) {
                // One write a line, so that the lines of several tasks do not mix.
                file.write((Rendering.of(record) + "\n").getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException e) {
            throw new ConnectException("Cannot write", e);
        }
    }

    @Override
    public void stop() {
        try {
            if (file != null) {
                file.close();
            }
        } catch (IOException e) {
            throw new ConnectException("Cannot close", e);
        }
    }

    @Override
    public String version() {
        return "1";
    }
}
