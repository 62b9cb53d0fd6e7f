/** A collector of traces that speaks OTLP over HTTP, in JSON, and keeps what it gets. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';

const value = z.looseObject({
  stringValue: z.string().optional(),
  intValue: z.union([z.number(), z.string()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
  arrayValue: z.object({ values: z.array(z.looseObject({ stringValue: z.string() })) }).optional(),
});

const attributes = z
  .array(z.object({ key: z.string(), value }))
  .transform((list) =>
    Object.fromEntries(
      list.map(({ key, value: { arrayValue, intValue, ...scalar } }) => [
        key,
        arrayValue?.values.map(({ stringValue }) => stringValue) ??
          (intValue === undefined ? Object.values(scalar)[0] : Number(intValue)),
      ]),
    ),
  );

const span = z.looseObject({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string().transform(BigInt),
  endTimeUnixNano: z.string().transform(BigInt),
  attributes,
  status: z.looseObject({ code: z.number().optional() }),
});

export type CollectedSpan = z.infer<typeof span>;

const exported = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.looseObject({ attributes }),
      scopeSpans: z.array(
        z.object({ scope: z.looseObject({ name: z.string() }), spans: z.array(span) }),
      ),
    }),
  ),
});

export interface OtlpCollector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** Attributes of the last resource. */
  resource: CollectedSpan['attributes'];
  close(): void;
}

export async function startCollector(): Promise<OtlpCollector> {
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const { resourceSpans } = exported.parse(body);
      for (const { resource, scopeSpans } of resourceSpans) {
        collector.resource = resource.attributes;
        collector.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
      }
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const collector: OtlpCollector = {
    url: `http://127.0.0.1:${port}`,
    spans: [],
    resource: {},
    close: () => void server.close(),
  };
  return collector;
}
