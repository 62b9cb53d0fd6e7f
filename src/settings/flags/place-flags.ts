import type { FlagSpec } from './flag-spec.ts';
import { readable, text } from './values.ts';

const server = readable('an address such as https://minio.example:9000', (given) =>
  /^https?:\/\//.test(given) && URL.canParse(given) ? given : undefined,
);

/** Where models come from, and where they are kept. */
export const PLACE_FLAGS = {
  cacheDir: {
    flags: '--cache-dir <folder>',
    description: 'where downloaded and built models are kept',
    schema: text.optional(),
    variables: ['CHAIRLIFT_CACHE'],
    defaultText: "chairlift in the user's cache folder",
  },
  offline: {
    flags: '--offline',
    description: 'ask no hub and no bucket: only what is on this machine',
    variables: ['HF_HUB_OFFLINE'],
  },
  hfToken: {
    flags: '--hf-token <token>',
    description: 'token for private and gated models of the hub',
    schema: text.optional(),
    secret: 'whole',
    variables: ['HF_TOKEN'],
    defaultText: 'none',
  },
  hfTokenFile: {
    flags: '--hf-token-file <file>',
    description: 'file with that token alone',
    schema: text.optional(),
    variables: ['HF_TOKEN_PATH'],
  },
  endpointUrl: {
    flags: '--endpoint-url <url>',
    description: 'server of s3:// models, such as MinIO',
    schema: server.optional(),
    variables: ['AWS_ENDPOINT_URL_S3'],
    defaultText: "AWS_ENDPOINT_URL, or Amazon's",
  },
} satisfies Record<string, FlagSpec>;
