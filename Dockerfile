# The service. Any base with Python 3.11 or newer will do: docker build --build-arg BASE=... .
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
RUN python3 -m venv tools && python3 -m venv /opt/repro-env
COPY requirements/ requirements/
RUN tools/bin/pip install --require-hashes -r requirements/build.txt \
 && /opt/repro-env/bin/pip install --require-hashes -r requirements/service.txt
COPY client/ client/
COPY service/ service/
RUN tools/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir wheels ./client ./service \
 && /opt/repro-env/bin/pip install --no-index --no-deps wheels/*.whl

FROM ${BASE}
# A number, so that an orchestrator can see that it is not root.
RUN useradd --uid 10001 --no-create-home repro-env && install -d -o 10001 -g 10001 /data
COPY --from=build /opt/repro-env /opt/repro-env
ENV PATH=/opt/repro-env/bin:$PATH PYTHONUNBUFFERED=1 REPRO_ENV_SERVICE_DATA=/data
USER 10001
VOLUME /data
WORKDIR /data
EXPOSE 8765
HEALTHCHECK --start-period=10s --interval=30s --timeout=5s CMD ["python", "-c", \
    "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ.get('REPRO_ENV_SERVICE_PORT', '8765') + '/livez', timeout=4)"]
CMD ["python", "-m", "repro_env_service", "serve"]
