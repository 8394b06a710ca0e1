/* Event types of RDMA-TSO (section 3), stamps of Mowgli (section 4), and the tables that say what program
 * order keeps. */
#ifndef REMORA_MODEL_STAMPS_H
#define REMORA_MODEL_STAMPS_H

#include <stdbool.h>

/* In the order of the rows of section 3. */
enum tso_type { T_LR, T_LW, T_CAS, T_F, T_P, T_NLR, T_NRW, T_NAR, T_NAW, T_NRR, T_NLW, T_NF, T_TYPES };

/* In the order of the rows of section 4. */
enum stamp { S_CR, S_CW, S_CAS, S_MF, S_WT, S_NLR, S_NRW, S_NAR, S_NRR, S_NLW, S_RF, S_GF, S_STAMPS };

/* Issued and observed in program order: the earlier event a, the later b, both of one thread; sqp: one queue
 * pair. */
bool tso_ippo(enum tso_type a, enum tso_type b, bool sqp);
bool tso_oppo(enum tso_type a, enum tso_type b, bool sqp);
bool tso_instantaneous(enum tso_type);
bool tso_is_nic(enum tso_type);

/* Stamp order; same: both stamps carry the same node. */
bool stamp_order(enum stamp a, enum stamp b, bool same);
/* What ib has over the stamp order, inside the wait library (section 5, ippo). */
bool stamp_issue_order(enum stamp a, enum stamp b, bool same);
bool stamp_instantaneous(enum stamp);
bool stamp_has_node(enum stamp);

const char *tso_name(enum tso_type); /* nrW */
const char *stamp_name(enum stamp);  /* aNRW */

#endif
