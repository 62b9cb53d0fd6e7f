import { fanOut } from '../../../front/generation/fan-out.ts';
import type { StartRun } from '../../../front/response-cache/generation-cache.ts';
import type { TextRuntime } from '../../runtimes.ts';
import type { Next } from './stage.ts';

/** Computes the answer, or joins an equal request that is being computed: the end of the line. */
export function computed({ generator }: Pick<TextRuntime, 'generator'>): Next {
  return async ({ request, plan, caller, charge, signal }) => {
    const start: StartRun = (until) => fanOut(generator, request, until);
    if (plan === null) return start(signal);
    const { reader, isShared } = plan.run(start, signal);
    caller.cache?.tell?.({ status: isShared ? 'shared' : 'miss' });
    charge.share({ isOwn: !isShared, chargedTokens: () => reader.chargedTokens });
    return reader;
  };
}
