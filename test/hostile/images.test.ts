import { mountAll } from './support/mount-all.ts';

await mountAll('images', new URL('./attacks/images.ts', import.meta.url));
