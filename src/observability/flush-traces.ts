import { trace, type TracerProvider } from '@opentelemetry/api';

/** Longest wait for a collector, in milliseconds. */
const FLUSH_MS = 5000;

/** Methods that the API does not declare for a provider, but SDKs' providers have. */
type SdkProvider = TracerProvider & {
  getDelegate?(): SdkProvider;
  forceFlush?(): Promise<void>;
};

/** Has the SDK send what it holds, if there is one. Never rejects. */
export async function flushTraces(): Promise<void> {
  const provider: SdkProvider = trace.getTracerProvider();
  const sdk = provider.getDelegate?.() ?? provider;
  const flushed = sdk.forceFlush?.().catch(() => {});
  await Promise.race([flushed, new Promise((resolve) => setTimeout(resolve, FLUSH_MS).unref())]);
}
