"""One plugin of each kind that is no connector."""

from pathlib import Path

from connect import ConfigDef, ConfigProvider, ConfigType, Converter, DataError, Predicate
from connect import Schema, SchemaAndValue, Transformation


class CsvLineConverter(Converter):
    """Values such as `7,Ada` as structs; `columns` names the fields."""

    config_def = ConfigDef().define("columns", doc="The fields of a line, with commas.")

    def configure(self, config, *, is_key):
        self.columns = config["columns"].split(",")
        builder = Schema.struct()
        for name in self.columns:
            builder.field(name, Schema.STRING)
        self.schema = builder.build()

    def to_connect(self, topic, data, headers=()):
        if data is None:
            return SchemaAndValue(None, None)
        cells = data.decode().split(",")
        if len(cells) != len(self.columns):
            raise DataError(f"The line has {len(cells)} cells, not {len(self.columns)}")
        return SchemaAndValue(self.schema, dict(zip(self.columns, cells, strict=True)))

    def from_connect(self, topic, schema, value, headers=None):
        return None if value is None else ",".join(str(v) for v in value.values()).encode()


class Upper(Transformation):
    """Puts a field of the value into upper case."""

    config_def = ConfigDef().define("field", doc="The field to change.")

    def configure(self, config):
        self.field = config["field"]

    def apply(self, record):
        record.value = {**record.value, self.field: record.value[self.field].upper()}
        return record


class IsLong(Predicate):
    """Whether a field of the value has more letters than `than`."""

    config_def = (
        ConfigDef()
        .define("field", doc="The field to look at.")
        .define("than", ConfigType.INT, 8, doc="So many letters are not long.")
    )

    def configure(self, config):
        self.field, self.than = config["field"], config["than"]

    def test(self, record):
        return len(record.value[self.field]) > self.than


class FolderProvider(ConfigProvider):
    """`${folder:/run/secrets:name}` is what the file /run/secrets/name holds."""

    def get(self, path, keys=None):
        files = [file for file in Path(path).iterdir() if keys is None or file.name in keys]
        return {file.name: file.read_text().strip() for file in files}
