import { mountAll } from './support/mount-all.ts';

await mountAll('grammars', new URL('./attacks/grammars.ts', import.meta.url));
