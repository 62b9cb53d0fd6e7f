import { mountAll } from './support/mount-all.ts';

await mountAll('grpc', new URL('./attacks/grpc.ts', import.meta.url));
