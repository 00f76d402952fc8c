"""Makes every fixture of tests/golden/ again."""

import attention
import blocks
import language_models
import layers
import positions
import training

for family in [attention, layers, positions, blocks, language_models, training]:
    family.make()
