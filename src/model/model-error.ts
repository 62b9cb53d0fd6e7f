import { UserError } from '../user-error.ts';

/** A model that cannot be used, in words for the person who chose it. */
export class ModelError extends UserError {}
