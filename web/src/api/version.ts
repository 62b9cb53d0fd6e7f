import { signal } from '@preact/signals';
import { requestJson } from './request.ts';

/** Version of the server; '' until it has said so. */
export const serverVersion = signal('');

requestJson<{ version: string }>('/version').then(
  ({ version }) => (serverVersion.value = version),
  () => {},
);
