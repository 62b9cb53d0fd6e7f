import { mountAll } from './support/mount-all.ts';

await mountAll('compaction', new URL('./attacks/compaction.ts', import.meta.url));
