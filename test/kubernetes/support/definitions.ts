/** Definitions of what extends Kubernetes, in a cluster. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kubectl } from '../../../scripts/kubernetes/cluster/kubectl.ts';
import { SCHEMA_MODULES, schemaPath } from '../../../scripts/kubernetes/schemas.ts';

/** Group of what has moved to `llm-d.ai`, whose schemas stayed the same. */
const FORMER_GROUP = 'inference.networking.x-k8s.io';
const GROUP = 'llm-d.ai';

/** Our files as the picker of the Inference Extension takes them: it keeps the former group. */
export function former(text: string): string {
  if (!text.includes(`${GROUP}/`)) throw new Error(`nothing is of ${GROUP}: ${text}`);
  return text.replaceAll(`${GROUP}/`, `${FORMER_GROUP}/`);
}

/** @param formerToo what moved is known under both groups */
export async function applyDefinitions(kubectl: Kubectl, formerToo = false): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'chairlift-definitions-'));
  try {
    for (const file of SCHEMA_MODULES.flatMap(({ files }) => files)) {
      if (!file.endsWith('.yaml')) continue;
      const text = readFileSync(schemaPath(file), 'utf8');
      const name = file.replaceAll('/', '_');
      writeFileSync(join(folder, name), text.replaceAll(FORMER_GROUP, GROUP));
      if (formerToo && text.includes(FORMER_GROUP)) {
        writeFileSync(join(folder, `former-${name}`), text);
      }
    }
    await kubectl.run('apply', '--server-side', '-f', folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
  await kubectl.run('wait', '--for=condition=Established', '--timeout=60s', 'crds', '--all');
}
