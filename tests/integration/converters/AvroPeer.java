import io.apicurio.registry.utils.converter.AvroConverter;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/** Converts between the JSON converter's envelope and Avro in the wire format, line by line. */
public final class AvroPeer {
  private AvroPeer() {}

  public static void main(String[] args) throws Exception {
    Map<String, Object> config = new HashMap<>();
    config.put("apicurio.registry.url", args[0]);
    config.put("apicurio.registry.as-confluent", "true");
    config.put("apicurio.registry.auto-register", "true");
    config.put("apicurio.registry.headers.enabled", "false");
    config.put("apicurio.registry.id-handler", "io.apicurio.registry.serde.Legacy4ByteIdHandler");
    config.put("apicurio.registry.use-id", "contentId");
    AvroConverter<Object> avro = new AvroConverter<>();
    avro.configure(config, false);
    JsonConverter json = new JsonConverter();
    json.configure(Map.of("schemas.enable", "true"), false);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ");
      byte[] data = Base64.getDecoder().decode(words[2]);
      String answer;
      try {
        byte[] out;
        if (words[0].equals("write")) {
          SchemaAndValue value = json.toConnectData(words[1], data);
          out = avro.fromConnectData(words[1], value.schema(), value.value());
        } else {
          SchemaAndValue value = avro.toConnectData(words[1], data);
          out = json.fromConnectData(words[1], value.schema(), value.value());
        }
        answer = "ok " + Base64.getEncoder().encodeToString(out);
      } catch (Exception e) {
        StringBuilder text = new StringBuilder();
        for (Throwable t = e; t != null; t = t.getCause()) text.append(t).append(" | ");
        answer = "error " + Base64.getEncoder().encodeToString(text.toString().getBytes(StandardCharsets.UTF_8));
      }
      System.out.println(answer);
      System.out.flush();
    }
  }
}
