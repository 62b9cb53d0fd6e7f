// How operators take states from their inputs, see state-groups.cpp.
#pragma once

#include "runtime.h"
#include "states.h"

namespace chairlift {

constexpr size_t kStateInputs = 4;

// Inputs of states from `first` on: the pool float [rows, width]; then for one or two groups of sequences,
// whose tokens lie one after the other: input_ids int64 [batch, seq], for its shape; state_from, state_to and
// state_tokens int32 [batch], see StateGroup. The pool is the second output, which is computed in place where
// it is bound to the input's own memory. Rows that are written are read by no sequence, and written once.
States readStates(Call &, size_t first, size_t width);

// Properties of an operator's inputs and outputs with states from `first` on. Those before are of numbers.
int stateInputType(size_t first, size_t input);
bool isStateInputRequired(size_t first, size_t input);

}  // namespace chairlift
