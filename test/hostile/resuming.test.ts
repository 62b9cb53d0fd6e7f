import { mountAll } from './support/mount-all.ts';

await mountAll('resuming', new URL('./attacks/resuming.ts', import.meta.url));
