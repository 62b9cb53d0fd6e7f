/**
 * The endpoint picker's configuration, which has no schema of its own: written from what
 * llm-d-router 0.9 reads (apix/config/v1alpha1). test/kubernetes runs the Inference Extension's picker with it.
 */
import { z } from 'zod';

const reference = z.strictObject({ pluginRef: z.string() });

export const EndpointPickerConfig = z.strictObject({
  apiVersion: z.literal('llm-d.ai/v1alpha1'),
  kind: z.literal('EndpointPickerConfig'),
  featureGates: z.array(z.string()).optional(),
  plugins: z.array(
    z.strictObject({
      name: z.string().optional(),
      type: z.string(),
      parameters: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
  schedulingProfiles: z.array(
    z.strictObject({
      name: z.string(),
      plugins: z.array(z.strictObject({ pluginRef: z.string(), weight: z.number().optional() })),
    }),
  ),
  dataLayer: z
    .strictObject({
      injectDefaults: z.boolean().optional(),
      sources: z
        .array(z.strictObject({ pluginRef: z.string(), extractors: z.array(reference) }))
        .optional(),
    })
    .optional(),
});

/** Those that we use, as it registers them. */
export const PLUGIN_TYPES = new Set([
  'core-metrics-extractor',
  'endpoint-notification-source',
  'kv-cache-utilization-scorer',
  'max-score-picker',
  'metrics-data-source',
  'precise-prefix-cache-producer',
  'prefix-cache-scorer',
  'queue-scorer',
  'single-profile-handler',
  'token-producer',
]);
