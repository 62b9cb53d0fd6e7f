import { mountAll } from './support/mount-all.ts';

await mountAll('kept events', new URL('./attacks/kept-events.ts', import.meta.url));
