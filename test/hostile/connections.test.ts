import { mountAll } from './support/mount-all.ts';

await mountAll('connections', new URL('./attacks/connections.ts', import.meta.url));
