import type { EncoderFamily } from '../encoder-shape.ts';
import { BERT } from './bert.ts';
import { DEBERTA } from './deberta.ts';
import { DISTILBERT } from './distilbert.ts';
import { CLIP_TEXT, SIGLIP_TEXT } from './dual.ts';
import { EMBEDDING_GEMMA } from './embedding-gemma.ts';
import { GTE } from './gte.ts';
import { MODERNBERT } from './modernbert.ts';
import { MPNET } from './mpnet.ts';
import { NOMIC_BERT } from './nomic-bert.ts';

export const ENCODER_FAMILIES: readonly EncoderFamily[] = [
  BERT,
  DEBERTA,
  DISTILBERT,
  MPNET,
  MODERNBERT,
  NOMIC_BERT,
  GTE,
  EMBEDDING_GEMMA,
  CLIP_TEXT,
  SIGLIP_TEXT,
];
