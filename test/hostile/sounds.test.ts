import { mountAll } from './support/mount-all.ts';

await mountAll('models that hear', new URL('./attacks/sounds.ts', import.meta.url));
