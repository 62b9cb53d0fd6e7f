import { mountAll } from './support/mount-all.ts';

await mountAll('web socket', new URL('./attacks/web-socket.ts', import.meta.url));
