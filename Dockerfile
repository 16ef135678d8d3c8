# `docker build .` compiles the program. `cargo xtask dist` puts a folder with the program that it has compiled in the place of
# the first stage (--build-context build=FOLDER).
FROM rust:1-bookworm AS build
WORKDIR /source
COPY . .
# The commit that `ambit --version` tells: --build-arg AMBIT_COMMIT=$(git rev-parse HEAD).
ARG AMBIT_COMMIT=
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/source/target \
    cargo build --profile dist --package ambit --locked && cp target/dist/ambit /ambit && mkdir /data

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /ambit /usr/local/bin/ambit
COPY --from=build --chown=65532:65532 /data /data
# The welcome app for callers with a key: a server without sign-in would not listen beyond its own machine.
COPY examples/welcome /app
COPY dist/image/app /app
ENV AMBIT_APP=/app \
    AMBIT_LISTEN=0.0.0.0:8080 \
    AMBIT_STORE=sqlite:/data/ambit.db
USER 65532:65532
VOLUME /data
EXPOSE 8080
# It asks over HTTPS where AMBIT_TLS_CERT is set.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["/usr/local/bin/ambit", "health"]
ENTRYPOINT ["/usr/local/bin/ambit"]
CMD ["serve"]
