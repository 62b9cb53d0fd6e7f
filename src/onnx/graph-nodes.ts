import type { AttributeValue } from './attributes.ts';
import type { ElementType } from './data-type.ts';
import type { InitializerData } from './initializer.ts';

/** A dimension: a size, or the name of a symbolic one. */
export type Dimension = number | string;

export interface NodeOptions {
  /** Names of the outputs; one, named after the node, if left out. An empty name skips one. */
  readonly outputs?: readonly string[];
  readonly domain?: string;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
}

/** A graph that takes inputs, outputs, nodes and constants, whether it is being built or rewritten. */
export interface GraphNodes {
  /** Adds a graph input; returns its name. */
  input(name: string, type: ElementType, dims: readonly Dimension[]): string;
  /** Declares a value as a graph output. */
  output(name: string, type: ElementType, dims: readonly Dimension[]): void;
  /** Adds a node; returns the name of its first output. An empty input leaves out an optional one. */
  node(name: string, opType: string, inputs: readonly string[], options?: NodeOptions): string;
  /** Adds a constant tensor; returns its name. */
  initializer(
    name: string,
    type: ElementType,
    dims: readonly number[],
    data: InitializerData,
  ): string;
}
