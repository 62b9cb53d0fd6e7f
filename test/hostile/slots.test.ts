import { mountAll } from './support/mount-all.ts';

await mountAll('slots', new URL('./attacks/slots.ts', import.meta.url));
