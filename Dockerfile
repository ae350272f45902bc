# Two images of one package: a Penstock worker, and a Spark node that can run its pipelines.
# Driver and executors must have the same Python, so both have 3.12.

FROM python:3.12-slim-bookworm AS package
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY connect connect
COPY connectors connectors
COPY converters converters
COPY transforms transforms
COPY dlq dlq
COPY api api
COPY spark_sink spark_sink
COPY penstock penstock
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .


FROM python:3.12-slim-bookworm AS worker
# The driver of a Spark sink runs in the worker and needs a JVM.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
 && rm -rf /var/lib/apt/lists/*
COPY --from=package /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[all]" && rm -r /wheels
# /data is shared with Spark, whose user is another one.
RUN useradd --create-home penstock && install --directory --mode 1777 /data && mkdir /plugins
USER penstock
WORKDIR /home/penstock
EXPOSE 8083
CMD ["penstock", "--help"]


FROM apache/spark:4.2.0 AS spark
USER root
# The Python that comes with the image is too old for Penstock.
ENV PYSPARK_PYTHON=/opt/penstock/bin/python UV_PYTHON_INSTALL_DIR=/opt/python
RUN pip3 install --no-cache-dir uv \
 && uv python install 3.12 \
 && uv venv --python 3.12 /opt/penstock
COPY --from=package /wheels /wheels
RUN uv pip install --no-cache --python /opt/penstock/bin/python "$(ls /wheels/*.whl)[all]" \
 && rm -r /wheels
RUN install --directory --mode 1777 /data
USER spark
