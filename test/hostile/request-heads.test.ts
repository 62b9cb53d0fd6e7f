import { mountAll } from './support/mount-all.ts';

await mountAll('request heads', new URL('./attacks/request-heads.ts', import.meta.url));
