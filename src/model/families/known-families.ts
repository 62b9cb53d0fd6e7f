import { AFMOES } from './afmoe.ts';
import { APERTUS } from './apertus.ts';
import { BAILINGS } from './bailing.ts';
import { BAMBA } from './bamba.ts';
import { COHERES } from './cohere.ts';
import { CWM } from './cwm.ts';
import { DEEPSEEKS } from './deepseek.ts';
import { DOTS1 } from './dots.ts';
import { ERNIES } from './ernie.ts';
import { EXAONES } from './exaone.ts';
import { FALCONS } from './falcon.ts';
import { FALCON_H1 } from './falcon-h1.ts';
import type { Family, KnownFamily } from './family.ts';
import { GEMMAS } from './gemma.ts';
import { GEMMA3NS } from './gemma3n.ts';
import { GEMMA4S } from './gemma4.ts';
import { GLMS } from './glm.ts';
import { GPT_OSS } from './gpt-oss.ts';
import { GPTS } from './gpt.ts';
import { GRANITES } from './granite.ts';
import { HELIUM } from './helium.ts';
import { HUNYUANS } from './hunyuan.ts';
import { KIMI_LINEAR } from './kimi-linear.ts';
import { LFMS } from './lfm.ts';
import { LLAMAS } from './llama.ts';
import { LLAMA4S } from './llama4.ts';
import { MAMBA2 } from './mamba.ts';
import { MINICPMS } from './minicpm.ts';
import { MINIMAX_M2 } from './minimax.ts';
import { MISTRALS } from './mistral.ts';
import { NEMOTRON_HS } from './nemotron-h.ts';
import { OLMOS } from './olmo.ts';
import { OPT } from './opt.ts';
import { PHIS } from './phi.ts';
import { QWENS } from './qwen.ts';
import { SEED_OSS } from './seed-oss.ts';
import { SMOLLMS } from './smollm.ts';
import { SQUARED_RELUS } from './squared-relu.ts';
import { STABLELMS } from './stablelm.ts';
import { STARCODER2 } from './starcoder.ts';
import { WHISPER } from './whisper.ts';

/** All families that decoder graphs are built of. */
export const KNOWN_FAMILIES: readonly KnownFamily[] = [
  ...LLAMAS,
  ...LLAMA4S,
  ...MISTRALS,
  ...QWENS,
  ...PHIS,
  ...GEMMAS,
  ...GEMMA3NS,
  ...GEMMA4S,
  ...SMOLLMS,
  ...GRANITES,
  ...OLMOS,
  ...GPTS,
  GPT_OSS,
  ...COHERES,
  ...DEEPSEEKS,
  DOTS1,
  ...AFMOES,
  ...BAILINGS,
  CWM,
  ...GLMS,
  ...ERNIES,
  ...EXAONES,
  SEED_OSS,
  STARCODER2,
  ...STABLELMS,
  ...SQUARED_RELUS,
  ...FALCONS,
  OPT,
  APERTUS,
  HELIUM,
  ...HUNYUANS,
  KIMI_LINEAR,
  ...LFMS,
  ...MINICPMS,
  MINIMAX_M2,
  ...NEMOTRON_HS,
  FALCON_H1,
  MAMBA2,
  BAMBA,
  WHISPER,
];

export const FAMILIES: readonly Family[] = KNOWN_FAMILIES.map(({ family }) => family);
