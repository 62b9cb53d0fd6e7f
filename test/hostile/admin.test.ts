import { mountAll } from './support/mount-all.ts';

await mountAll('admin', new URL('./attacks/admin.ts', import.meta.url));
