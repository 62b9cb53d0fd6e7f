/** Profiles of AWS's tools: `~/.aws/credentials` and `~/.aws/config`. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readBounded } from '../../files/read-bounded.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';

export interface Profile {
  readonly accessKeyId: string | null;
  readonly secretAccessKey: string | null;
  readonly sessionToken: string | null;
  readonly region: string | null;
  readonly endpoint: string | null;
  /** Token of a web identity, with which a role is taken on. */
  readonly tokenFile: string | null;
  readonly role: string | null;
  /** For messages. */
  readonly from: string;
}

/** Ways to get credentials that take programs or browsers of their own. */
const OTHERS = [
  'credential_process',
  'sso_session',
  'sso_start_url',
  'source_profile',
  'credential_source',
];

/**
 * The profile of AWS_PROFILE, or the default one.
 * @returns null where there is no default one
 * @throws {ModelError} for one that is named and missing, or that needs what is not built in
 */
export async function readProfile(env: NodeJS.ProcessEnv): Promise<Profile | null> {
  const name = env['AWS_PROFILE'] || 'default';
  const folder = join(env['HOME'] || homedir(), '.aws');
  const credentials = await sectionsOf(
    env['AWS_SHARED_CREDENTIALS_FILE'] || join(folder, 'credentials'),
  );
  const config = await sectionsOf(env['AWS_CONFIG_FILE'] || join(folder, 'config'));
  const found = [
    config.get(`profile ${name}`),
    name === 'default' && config.get(name),
    credentials.get(name),
  ];
  const values = new Map(found.flatMap((section) => [...(section || [])]));
  const from = `the AWS profile ${name}`;
  if (values.size === 0) {
    if (!env['AWS_PROFILE']) return null;
    throw new ModelError(`${from}, of AWS_PROFILE, is in neither of AWS's files`);
  }
  const valueOf = (key: string) => values.get(key) ?? null;
  const profile = {
    accessKeyId: valueOf('aws_access_key_id'),
    secretAccessKey: valueOf('aws_secret_access_key'),
    sessionToken: valueOf('aws_session_token'),
    region: valueOf('region'),
    endpoint: valueOf('endpoint_url'),
    tokenFile: valueOf('web_identity_token_file'),
    role: valueOf('role_arn'),
    from,
  };
  const other = OTHERS.find((key) => values.has(key));
  if (other === undefined || profile.accessKeyId !== null || !env['AWS_PROFILE']) return profile;
  throw new ModelError(
    `${from} has ${other}, which is not built in: \`aws configure export-credentials --format env\` ` +
      'prints variables that are taken',
  );
}

/** Sections of a file, each with its keys in lower case; none of a file that is not there. */
async function sectionsOf(path: string): Promise<Map<string, Map<string, string>>> {
  const sections = new Map<string, Map<string, string>>();
  const text = await readBounded(path, MODEL_LIMITS.credentialsBytes).catch(() => '');
  let section: Map<string, string> | null = null;
  for (const line of text.toString().split(/\r?\n/)) {
    const name = /^\[([^\]]+)\]/.exec(line)?.[1]?.trim().replace(/\s+/g, ' ');
    if (name !== undefined) {
      section = sections.get(name) ?? new Map();
      sections.set(name, section);
      continue;
    }
    // Lines that begin with a space belong to a value that has several, none of which we read.
    const separator = line.indexOf('=');
    if (section === null || separator < 1 || /^[\s#;]/.test(line)) continue;
    const value = line.slice(separator + 1).trim();
    if (value !== '') section.set(line.slice(0, separator).trim().toLowerCase(), value);
  }
  return sections;
}
