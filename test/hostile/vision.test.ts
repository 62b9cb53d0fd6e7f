import { mountAll } from './support/mount-all.ts';

await mountAll('models that see', new URL('./attacks/vision.ts', import.meta.url));
