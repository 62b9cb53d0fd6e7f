/** A batch's file as it is sent to `/v1/files`. */
import type { Answer, Client } from './client.ts';

export const BOUNDARY = 'the-boundary';

export const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

export function form(content: string, filename = 'in.jsonl'): string {
  const part = (head: string, value: string) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
  const purpose = part('name="purpose"', 'batch');
  return `${purpose}${part(`name="file"; filename="${filename}"`, content)}--${BOUNDARY}--\r\n`;
}

export function upload(client: Client, content: string, filename?: string): Promise<Answer> {
  return client.send('/v1/files', { body: form(content, filename), headers: FORM });
}
