import { mountAll } from './support/mount-all.ts';

await mountAll('unread', new URL('./attacks/unread.ts', import.meta.url));
