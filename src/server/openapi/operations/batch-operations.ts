import { listQuery } from '../../batches/list-page.ts';
import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';

const tag = 'Batches';
/** Without a folder for them. */
const errors = [501] as const;
const needsFolder = 'Needs `--batch-dir`. Each client has its own.';

/** Files of requests that nobody waits for. */
export const BATCH_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/files',
    tag,
    summary: 'Upload a file of requests',
    notes: `A form with \`file\` and \`purpose\` (\`batch\`; or \`vision\`, for an image of chats), and perhaps \`expires_after[seconds]\`. Each line is \`{"custom_id", "method": "POST", "url", "body"}\`. ${needsFolder}`,
    form: bodies.upload,
    errors,
  },
  { method: 'get', path: '/v1/files', tag, summary: 'Your files', query: listQuery, errors },
  { method: 'get', path: '/v1/files/{id}', tag, summary: 'What a file is', errors },
  {
    method: 'get',
    path: '/v1/files/{id}/content',
    tag,
    summary: 'What is in a file',
    answerType: 'application/jsonl',
    errors,
  },
  { method: 'delete', path: '/v1/files/{id}', tag, summary: 'Delete a file', errors },
  {
    method: 'post',
    path: '/v1/batches',
    tag,
    summary: 'Run the requests of a file',
    notes: `Of \`/v1/chat/completions\`, \`/v1/completions\`, \`/v1/responses\` or \`/v1/embeddings\`, by what other requests leave of the server. ${needsFolder}`,
    body: bodies.batch,
    errors,
  },
  { method: 'get', path: '/v1/batches', tag, summary: 'Your batches', query: listQuery, errors },
  { method: 'get', path: '/v1/batches/{id}', tag, summary: 'How far a batch has come', errors },
  { method: 'post', path: '/v1/batches/{id}/cancel', tag, summary: 'End a batch early', errors },
];
