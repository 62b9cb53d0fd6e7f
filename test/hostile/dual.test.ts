import { mountAll } from './support/mount-all.ts';

await mountAll('models that embed images', new URL('./attacks/dual.ts', import.meta.url));
