/** A server of S3 that others wrote: versitygw, over a folder. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';
import { isBuilt, VERSITYGW } from '../../scripts/object-store/programs.ts';
import { freePorts } from './free-ports.ts';
import type { Requirement } from './needs.ts';

export const OBJECT_STORE: Requirement = {
  name: 'versitygw (npx tsx scripts/object-store/build.ts, which takes Go)',
  isThere: isBuilt(),
};

const ID = 'test-id';
const SECRET = 'test-secret';

export interface ObjectStore {
  /** Environment of a process that reads it. */
  readonly env: Readonly<Record<string, string>>;
  put(key: string, content: Buffer, partBytes?: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts one with a bucket, `models`, over a folder that goes when it stops. */
export async function startObjectStore(): Promise<ObjectStore> {
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-object-store-'));
  const [port] = await freePorts(1);
  const data = join(folder, 'data');
  const facts = join(folder, 'facts');
  await Promise.all([data, facts].map((each) => mkdir(each)));
  const address = `127.0.0.1:${port}`;
  const keys = ['--access', ID, '--secret', SECRET];
  const args = [...keys, '--port', address, 'posix', '--sidecar', facts, data];
  const child = spawn(VERSITYGW, args, { stdio: 'ignore' });
  const client = new AwsClient({
    accessKeyId: ID,
    secretAccessKey: SECRET,
    service: 's3',
    region: 'us-east-1',
    retries: 0,
  });
  const send = async (method: string, path: string, body?: Buffer | string): Promise<Response> => {
    const content = typeof body === 'string' ? body : body && new Uint8Array(body);
    const url = `http://${address}/models${path}`;
    const response = await client.fetch(url, {
      method,
      ...(content !== undefined && { body: content }),
    });
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  for (let tried = 0; ; tried++) {
    try {
      await send('PUT', '');
      break;
    } catch (error) {
      if (tried === 100) throw error;
      await sleep(200);
    }
  }
  return {
    env: {
      AWS_ENDPOINT_URL: `http://${address}`,
      AWS_ACCESS_KEY_ID: ID,
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    async put(key, content, partBytes) {
      if (partBytes === undefined)
        return void (await (await send('PUT', `/${key}`, content)).text());
      const begun = await (await send('POST', `/${key}?uploads`)).text();
      const upload = encodeURIComponent(/<UploadId>(.*)<\/UploadId>/.exec(begun)?.[1] ?? '');
      const parts: string[] = [];
      for (let at = 0; at < content.length; at += partBytes) {
        const number = parts.length + 1;
        const part = content.subarray(at, at + partBytes);
        const { headers } = await send(
          'PUT',
          `/${key}?partNumber=${number}&uploadId=${upload}`,
          part,
        );
        parts.push(
          `<Part><PartNumber>${number}</PartNumber><ETag>${headers.get('etag')}</ETag></Part>`,
        );
      }
      const whole = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
      await (await send('POST', `/${key}?uploadId=${upload}`, whole)).text();
    },
    async stop() {
      child.kill();
      if (child.exitCode === null) await once(child, 'close');
      await rm(folder, { recursive: true });
    },
  };
}
