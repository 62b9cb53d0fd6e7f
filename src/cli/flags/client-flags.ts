import { z } from 'zod';
import { type Command, Option } from 'commander';
import { UsageError } from '../usage-error.ts';

/** Which server a command asks. */
export interface ServerAccess {
  readonly url: URL;
  /** False for the default address. */
  readonly isGiven: boolean;
  readonly apiKey: string | null;
}

const DEFAULT_URL = 'http://127.0.0.1:8000';

const schema = z.object({
  url: z
    .string()
    .refine((text) => /^https?:/.test(text) && URL.canParse(text), {
      error: '--url: expected an address such as http://127.0.0.1:8000',
    })
    .optional(),
  apiKey: z.string().min(1).optional(),
});

export function addClientFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--url <address>', `the server to ask (default: ${DEFAULT_URL})`).env(
        'CHAIRLIFT_URL',
      ),
    )
    .addOption(new Option('--api-key <key>', 'key to send').env('CHAIRLIFT_SERVER_KEY'));
}

/** @param address in place of --url. @throws UsageError */
export function readClientFlags(command: Command, address?: string): ServerAccess {
  const flags = command.opts();
  const result = schema.safeParse(address === undefined ? flags : { ...flags, url: address });
  if (!result.success) throw new UsageError(result.error.issues[0]?.message ?? 'bad flags');
  const { url, apiKey } = result.data;
  const text = url ?? DEFAULT_URL;
  return {
    url: new URL(text.endsWith('/') ? text : `${text}/`),
    isGiven: url !== undefined,
    apiKey: apiKey ?? null,
  };
}
