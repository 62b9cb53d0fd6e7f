/**
 * Sends the server's traces to a collector, over OTLP and HTTP. See docs/tracing.md:
 *
 *   node --import ./preload.mjs node_modules/chairlift/dist/cli/main.js serve
 *
 * OTEL_EXPORTER_OTLP_ENDPOINT says where the collector is (default: http://localhost:4318),
 * OTEL_SERVICE_NAME what the server is called, OTEL_TRACES_SAMPLER which requests are traced.
 */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

new NodeTracerProvider({
  resource: resourceFromAttributes({
    'service.name': process.env.OTEL_SERVICE_NAME ?? 'chairlift',
  }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
}).register();
