import { mountAll } from './support/mount-all.ts';

await mountAll('encoders', new URL('./attacks/encoders.ts', import.meta.url));
