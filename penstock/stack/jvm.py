"""How a Kafka program is run: memory, logging, and nothing left outside its directory."""

from pathlib import Path

from penstock.stack.java import Java

# Starts sooner at the price of peak speed, which a test or a demo never reaches. A benchmark passes
# its own.
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

_LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


def command(
    java: Java, directory: Path, class_path: list[Path], heap: str, flags: tuple[str, ...]
) -> list[str]:
    """`java` up to the name of the main class. A directory in class_path stands for its jars."""
    temporary = directory / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    logging = directory / "log4j2.properties"
    logging.write_text(_LOGGING)
    return [
        java.command,
        f"-Xmx{heap}",
        *flags,
        "-Djava.awt.headless=true",
        f"-Dlog4j2.configurationFile={logging}",
        # Native libraries are unpacked there; the JVM's statistics would be left in /tmp.
        f"-Djava.io.tmpdir={temporary}",
        "-XX:-UsePerfData",
        *("-cp", ":".join(f"{place}/*" if place.is_dir() else str(place) for place in class_path)),
    ]


def properties(settings: dict[str, str]) -> str:
    """The settings as the text of a .properties file."""
    return "".join(f"{key}={value}\n" for key, value in settings.items())
